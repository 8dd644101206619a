# Digit CNN after the answer: add the channel axis, divide by the max, from_logits matches the last layer.
import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

tf.keras.utils.set_random_seed(1)

digits = load_digits()
x = digits.images[..., np.newaxis].astype("float32") / 16.0
y = digits.target
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=1, stratify=y)

model = tf.keras.models.Sequential(
    [
        tf.keras.Input(shape=(8, 8, 1)),
        tf.keras.layers.Conv2D(32, (3, 3), padding="same", activation="relu"),
        tf.keras.layers.MaxPooling2D((2, 2)),
        tf.keras.layers.Conv2D(64, (3, 3), padding="same", activation="relu"),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(10),
    ]
)
model.compile(
    optimizer=tf.keras.optimizers.SGD(learning_rate=0.02, momentum=0.9),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, epochs=15, batch_size=32, validation_data=(x_test, y_test), verbose=2)
print(f"RESULT accuracy {model.evaluate(x_test, y_test, verbose=0)[1]:.4f}")
