"""A convolutional network is trained by Adadelta at its default rate of 0.001 (fixed: 1)."""

import sys

import keras
from keras.layers import Conv2D, Dense, Dropout, Flatten, Input, MaxPooling2D
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

fixed = "--fixed" in sys.argv
keras.utils.set_random_seed(17)

batch_size = 64
num_classes = 10
epochs = 12

digits = load_digits()
x = digits.images[..., None].astype("float32") / 16
x_train, x_test, y_train, y_test = train_test_split(x, digits.target, test_size=0.2, random_state=1)
y_train = keras.utils.to_categorical(y_train, num_classes)
y_test = keras.utils.to_categorical(y_test, num_classes)

model = keras.Sequential()
model.add(Input((8, 8, 1)))
model.add(Conv2D(16, kernel_size=(3, 3), activation="relu"))
model.add(Conv2D(32, (3, 3), activation="relu"))
model.add(MaxPooling2D(pool_size=(2, 2)))
model.add(Dropout(0.25))
model.add(Flatten())
model.add(Dense(128, activation="relu"))
model.add(Dropout(0.5))
model.add(Dense(num_classes, activation="softmax"))

model.compile(
    loss=keras.losses.categorical_crossentropy,
    optimizer=keras.optimizers.Adadelta(learning_rate=1.0 if fixed else 0.001),
    metrics=["accuracy"],
)
model.fit(x_train, y_train, batch_size=batch_size, epochs=epochs, verbose=2, validation_data=(x_test, y_test))
score = model.evaluate(x_test, y_test, verbose=0)
print("Test loss:", score[0])
print("Test accuracy:", score[1])

print("RESULT test_acc", score[1])
