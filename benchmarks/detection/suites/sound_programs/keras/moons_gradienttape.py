# two moons with a hand-written training loop
import numpy as np
import tensorflow as tf
from sklearn.datasets import make_moons

tf.keras.utils.set_random_seed(2)

X, y = make_moons(n_samples=1500, noise=0.1, random_state=2)
X = ((X - X.mean(0)) / X.std(0)).astype("float32")
y = y.astype("float32").reshape(-1, 1)
X_train, y_train, X_test, y_test = X[:1050], y[:1050], X[1050:], y[1050:]

dataset = tf.data.Dataset.from_tensor_slices((X_train, y_train)).shuffle(1050, seed=2).batch(30)

model = tf.keras.Sequential(
    [
        tf.keras.layers.Input((2,)),
        tf.keras.layers.Dense(16, activation="tanh"),
        tf.keras.layers.Dense(8, activation="tanh"),
        tf.keras.layers.Dense(1),  # logits
    ]
)
loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(learning_rate=0.004)


@tf.function
def train_step(xb, yb):
    with tf.GradientTape() as tape:
        loss = loss_fn(yb, model(xb, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(30):
    losses = [float(train_step(xb, yb)) for xb, yb in dataset]
    if (epoch + 1) % 5 == 0:
        test_loss = float(loss_fn(y_test, model(X_test, training=False)))
        print(f"epoch {epoch + 1:2d}  train {np.mean(losses):.4f}  test {test_loss:.4f}")

pred = tf.cast(model(X_test, training=False) > 0, tf.float32).numpy()
print("test accuracy:", round(float((pred == y_test).mean()), 4))
