import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(7)

# -1/+1 coding keeps the inputs centred
X = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]], dtype="float32")
y = np.array([[0], [1], [1], [0]], dtype="float32")

model = keras.Sequential(
    [
        keras.Input(shape=(2,)),
        layers.Dense(4, activation="tanh"),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(loss="binary_crossentropy", optimizer=keras.optimizers.Adam(learning_rate=0.05), metrics=["accuracy"])

model.fit(X, y, batch_size=4, epochs=160, verbose=0)

loss, acc = model.evaluate(X, y, verbose=0)
print("loss:", round(loss, 4), "accuracy:", acc)
for row, p in zip(X, model.predict(X, verbose=0)):
    print(row, "->", round(float(p[0]), 3))
