# Manual epochs with train_on_batch; the order is reshuffled every epoch
import keras
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(6)
rng = np.random.default_rng(6)

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=9)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train).astype("float32"), scaler.transform(X_test).astype("float32")
Y_train, Y_test = keras.utils.to_categorical(y_train, 3), keras.utils.to_categorical(y_test, 3)

model = keras.Sequential(
    [
        keras.layers.Input((13,)),
        keras.layers.Dense(8, activation="tanh", kernel_regularizer=keras.regularizers.l2(5e-3)),
        keras.layers.Dense(3, activation="softmax", kernel_regularizer=keras.regularizers.l2(5e-3)),
    ]
)
model.compile(
    optimizer=keras.optimizers.Adagrad(learning_rate=0.05), loss="categorical_crossentropy", metrics=["accuracy"]
)

batch = 31
for epoch in range(30):
    order = rng.permutation(len(X_train))
    for start in range(0, len(order), batch):
        idx = order[start : start + batch]
        model.train_on_batch(X_train[idx], Y_train[idx])
    model.reset_metrics()
    if epoch % 6 == 5:
        tr, te = model.evaluate(X_train, Y_train, verbose=0), model.evaluate(X_test, Y_test, verbose=0)
        print(f"epoch {epoch + 1}: train loss {tr[0]:.4f}  test loss {te[0]:.4f}")

train_loss, train_acc = model.evaluate(X_train, Y_train, verbose=0)
test_loss, test_acc = model.evaluate(X_test, Y_test, verbose=0)
print(f"train loss {train_loss:.3f} acc {train_acc:.3f} | test loss {test_loss:.3f} acc {test_acc:.3f}")
