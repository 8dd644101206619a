import keras
import tensorflow as tf
from keras import layers
from sklearn.datasets import load_digits

keras.utils.set_random_seed(0)
d = load_digits()
x = (d.data / 16.0).astype("float32")
y = d.target
tr = tf.data.Dataset.from_tensor_slices((x[:1500], y[:1500])).shuffle(1500).batch(64)
va = tf.data.Dataset.from_tensor_slices((x[1500:], y[1500:])).batch(64)
m = keras.Sequential(
    [keras.Input((64,)), layers.Dense(64, activation="relu"), layers.Dense(64, activation="relu"), layers.Dense(10)]
)
opt = keras.optimizers.Adam(1e-3)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
acc = keras.metrics.SparseCategoricalAccuracy()
vacc = keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as t:
        l = m(x, training=True)
        v = loss_fn(y, l)
    opt.apply_gradients(zip(t.gradient(v, m.trainable_weights), m.trainable_weights))
    acc.update_state(y, l)
    return v


@tf.function
def test_step(x, y):
    vacc.update_state(y, m(x, training=False))


for e in range(6):
    for a, b in tr:
        v = train_step(a, b)
    for a, b in va:
        test_step(a, b)
    print(e, float(v), float(acc.result()), float(vacc.result()))
    acc.reset_state()
    vacc.reset_state()
