import keras
from keras import layers
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

keras.utils.set_random_seed(4)

digits = load_digits()
X = (digits.images / 16.0).astype("float32")[..., None]  # 8x8x1, 0..1
y = digits.target
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=4)

model = keras.Sequential(
    [
        layers.Input((8, 8, 1)),
        layers.Conv2D(16, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(24, 3, padding="same", use_bias=False),
        layers.BatchNormalization(momentum=0.9),
        layers.Activation("relu"),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.25),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
h = model.fit(X_train, y_train, epochs=14, batch_size=32, validation_split=0.15, verbose=2)
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"test loss {loss:.3f}, test accuracy {acc:.3f}")
