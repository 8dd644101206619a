"""Two-layer graph convolutional network (Kipf & Welling) for node classes on a citation-like graph; full batch."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(16)
rng = np.random.default_rng(16)
N, C, F = 900, 4, 200
y = rng.integers(0, C, N)
prob = np.where(y[:, None] == y[None, :], 0.012, 0.0015)
A = np.triu(rng.random((N, N)) < prob, 1)
A = (A | A.T).astype("float32")
topic = rng.dirichlet(np.full(F, 0.3), C)
words = np.stack([rng.multinomial(12, 0.5 * topic[c] + 0.5 / F) for c in y]) > 0
X = words / np.maximum(words.sum(1, keepdims=True), 1)  # row-normalised bag of words
X = tf.constant(X, tf.float32)
A_hat = A + np.eye(N, dtype="float32")
d = 1 / np.sqrt(A_hat.sum(1))
A_norm = tf.constant(d[:, None] * A_hat * d[None, :])

perm = rng.permutation(N)
train, val, test = perm[:160], perm[160:400], perm[400:]


class GraphConv(layers.Layer):
    def __init__(self, units, activation=None, **kw):
        super().__init__(**kw)
        self.units, self.activation = units, keras.activations.get(activation)

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], self.units), initializer="glorot_uniform", name="kernel")
        self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

    def call(self, x):
        return self.activation(tf.matmul(A_norm, tf.matmul(x, self.kernel)) + self.bias)


inp = keras.Input(batch_shape=(N, F))
h = layers.Dropout(0.5)(inp)
h = GraphConv(32, "relu")(h)
h = layers.Dropout(0.5)(h)
model = keras.Model(inp, GraphConv(C)(h))

optimizer = keras.optimizers.Adam(1e-2)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def step():
    with tf.GradientTape() as tape:
        logits = tf.gather(model(X, training=True), train)
        loss = loss_fn(y[train], logits) + 5e-4 * tf.nn.l2_loss(model.layers[2].kernel)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss


def accuracy(idx):
    return float(np.mean(model(X, training=False).numpy().argmax(1)[idx] == y[idx]))


best, best_weights = 0.0, model.get_weights()
for epoch in range(80):
    loss = step()
    if epoch % 5 == 4:
        acc = accuracy(val)
        if acc > best:
            best, best_weights = acc, model.get_weights()
        if epoch % 20 == 19:
            print("epoch %d loss %.4f train %.3f val %.3f" % (epoch + 1, float(loss), accuracy(train), acc))
model.set_weights(best_weights)
print(f"RESULT accuracy {accuracy(test):.4f}")
