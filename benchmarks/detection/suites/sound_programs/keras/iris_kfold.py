# 4-fold cross-validation of a small softmax net on iris.
# A fresh model (and a fresh optimizer) is made for every fold and the scaler
# is fitted on that fold's training part only.
import keras
import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(1)
X, y = load_iris(return_X_y=True)
Y = keras.utils.to_categorical(y, 3)


def make_model():
    net = keras.Sequential(
        [
            keras.layers.Input((4,)),
            keras.layers.Dense(10, activation="tanh"),
            keras.layers.Dense(3, activation="softmax"),
        ]
    )
    net.compile(
        optimizer=keras.optimizers.Adam(learning_rate=0.015), loss="categorical_crossentropy", metrics=["accuracy"]
    )
    return net


scores = []
folds = StratifiedKFold(n_splits=4, shuffle=True, random_state=1)
for k, (tr, te) in enumerate(folds.split(X, y)):
    keras.backend.clear_session()
    scaler = StandardScaler().fit(X[tr])
    model = make_model()
    model.fit(scaler.transform(X[tr]), Y[tr], epochs=30, batch_size=16, verbose=0)
    loss, acc = model.evaluate(scaler.transform(X[te]), Y[te], verbose=0)
    print(f"fold {k}: loss {loss:.3f} accuracy {acc:.3f}")
    scores.append(acc)

print(f"mean accuracy {np.mean(scores):.3f} +/- {np.std(scores):.3f}")
