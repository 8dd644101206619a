# Iris classifier. Before the answer: one sigmoid output and binary_crossentropy on labels 0..2.
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow import keras
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
from tensorflow.keras.utils import to_categorical

keras.utils.set_random_seed(7)

iris = load_iris()
X = iris.data
y = to_categorical(iris.target)

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=iris.target)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train)
X_test = scaler.transform(X_test)

model = Sequential()
model.add(keras.Input(shape=(4,)))
model.add(Dense(16, activation="relu"))
model.add(Dense(3, activation="softmax"))
model.compile(loss="categorical_crossentropy", optimizer=keras.optimizers.Adam(0.005), metrics=["accuracy"])
model.fit(X_train, y_train, epochs=40, batch_size=8, verbose=2)

loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"RESULT accuracy {acc:.4f}")
