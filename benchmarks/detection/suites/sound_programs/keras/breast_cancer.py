import keras
from keras import layers, regularizers
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(2)

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, stratify=y, random_state=2)
scaler = StandardScaler().fit(X_train)
X_train = scaler.transform(X_train).astype("float32")
X_test = scaler.transform(X_test).astype("float32")

model = keras.Sequential(
    [
        layers.Input((X_train.shape[1],)),
        layers.Dense(8, activation="relu", kernel_regularizer=regularizers.l2(5e-3)),
        layers.Dropout(0.1),
        layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.Adam(0.002), loss="binary_crossentropy", metrics=["accuracy"])

stop = keras.callbacks.EarlyStopping(monitor="val_loss", patience=6, restore_best_weights=True)
h = model.fit(X_train, y_train, validation_split=0.2, epochs=40, batch_size=32, callbacks=[stop], verbose=0)

print("epochs run:", len(h.history["loss"]))
print("train loss {:.3f}  val loss {:.3f}".format(h.history["loss"][-1], h.history["val_loss"][-1]))
loss, acc = model.evaluate(X_test, y_test, verbose=0)
print(f"test loss {loss:.3f}  test accuracy {acc:.3f}")
