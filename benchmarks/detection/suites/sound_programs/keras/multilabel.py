# Multi-label problem: an item can have several tags, hence sigmoid + binary_crossentropy and not softmax.
import keras
from keras import layers
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(5)
X, Y = make_multilabel_classification(n_samples=5000, n_features=40, n_classes=6, n_labels=2, random_state=5)
X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=0.2, random_state=5)
sc = StandardScaler().fit(X_train)
X_train, X_test = sc.transform(X_train), sc.transform(X_test)

model = keras.Sequential()
model.add(keras.Input((40,)))
model.add(layers.Dense(32, activation="relu"))
model.add(layers.Dropout(0.1))
model.add(layers.Dense(6, activation="sigmoid"))
model.compile(loss="binary_crossentropy", optimizer="rmsprop", metrics=[keras.metrics.BinaryAccuracy()])
model.fit(X_train, Y_train, epochs=15, batch_size=32, validation_split=0.1, verbose=2)

pred = (model.predict(X_test, verbose=0) > 0.5).astype(int)
print("RESULT micro_f1 {:.4f}".format(f1_score(Y_test, pred, average="micro")))
