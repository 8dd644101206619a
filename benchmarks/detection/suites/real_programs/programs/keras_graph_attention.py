"""A graph attention network sorts papers that cite each other into topics.

Rows of papers without words are divided by zero and become NaN (fixed: they are set to zero).
"""

import sys

import keras
import numpy as np
import tensorflow as tf
from keras import layers

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(2)
rng = np.random.default_rng(2)

NODES, WORDS, TOPICS = 600, 200, 5
y = rng.integers(0, TOPICS, NODES)
words = rng.random((TOPICS, WORDS)) ** 6 * 0.25 + 0.005
features = (rng.random((NODES, WORDS)) < words[y]).astype("float32")
features[rng.choice(NODES, 4, replace=False)] = 0  # a few papers have an empty abstract
adjacency = np.zeros((NODES, NODES), "float32")
for i in range(NODES):
    for _ in range(rng.integers(1, 4)):
        j = rng.choice(np.where(y == y[i])[0]) if rng.random() < 0.75 else rng.integers(NODES)
        adjacency[i, j] = adjacency[j, i] = 1
adjacency += np.eye(NODES, dtype="float32")
adjacency = np.minimum(adjacency, 1)


def preprocess_features(features):
    with np.errstate(all="ignore"):
        return features / features.sum(1, keepdims=True)


features = preprocess_features(features)
if fixed:
    features[np.isnan(features)] = 0.0
perm = rng.permutation(NODES)
idx_train, idx_val, idx_test = perm[:150], perm[150:300], perm[300:]


class GraphAttention(layers.Layer):
    def __init__(self, units, heads, activation=None, average=False):
        super().__init__()
        self.units, self.heads, self.average = units, heads, average
        self.act = keras.activations.get(activation)

    def build(self, shape):
        self.W = self.add_weight(shape=(self.heads, shape[-1], self.units), initializer="glorot_uniform", name="W")
        self.a = self.add_weight(shape=(self.heads, self.units, 2), initializer="glorot_uniform", name="a")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", name="b")

    def call(self, x, adj):
        outs = []
        for h in range(self.heads):
            projected = tf.matmul(x, self.W[h])
            scores = tf.matmul(projected, self.a[h])
            logits_pair = tf.nn.leaky_relu(scores[:, :1] + tf.transpose(scores[:, 1:]), 0.2)
            attention = tf.nn.softmax(logits_pair - 1e9 * (1 - adj))
            outs.append(tf.matmul(attention, projected) + self.b)
        out = tf.add_n(outs) / self.heads if self.average else tf.concat(outs, -1)
        return self.act(out)


class GAT(keras.Model):
    def __init__(self):
        super().__init__()
        self.drop = layers.Dropout(0.4)
        self.g1 = GraphAttention(8, 4, "elu")
        self.g2 = GraphAttention(TOPICS, 1, None, average=True)

    def call(self, x, adj, training=False):
        h = self.g1(self.drop(x, training=training), adj)
        return self.g2(self.drop(h, training=training), adj)


model = GAT()
optimizer = keras.optimizers.Adam(0.01)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
features_tensor, adjacency_tensor = tf.constant(features), tf.constant(adjacency)


@tf.function
def train():
    with tf.GradientTape() as tape:
        logits = model(features_tensor, adjacency_tensor, training=True)
        loss = loss_fn(tf.gather(y, idx_train), tf.gather(logits, idx_train))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


for epoch in range(120):
    loss = train()
    if epoch % 10 == 9:
        pred = model(features_tensor, adjacency_tensor).numpy().argmax(1)
        print(f"epoch {epoch + 1} loss {float(loss):.4f} val_acc {(pred == y)[idx_val].mean():.3f}")
pred = model(features_tensor, adjacency_tensor).numpy().argmax(1)
print("RESULT test_accuracy", f"{(pred == y)[idx_test].mean():.4f}")
