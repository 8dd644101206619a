"""Five-fold cross-validation of a small SGD-with-momentum network on the wine data; a fresh model, scaler per fold."""

import keras
import numpy as np
from keras import layers
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(2)
X, y = load_wine(return_X_y=True)


def make_model():
    model = keras.Sequential(
        [
            keras.Input((X.shape[1],)),
            layers.Dense(16, activation="tanh"),
            layers.Dense(3, activation="softmax"),
        ]
    )
    model.compile(
        keras.optimizers.SGD(0.02, momentum=0.9, nesterov=True), "sparse_categorical_crossentropy", metrics=["accuracy"]
    )
    return model


scores = []
for fold, (tr, te) in enumerate(StratifiedKFold(5, shuffle=True, random_state=2).split(X, y)):
    scaler = StandardScaler().fit(X[tr])
    model = make_model()
    history = model.fit(
        scaler.transform(X[tr]),
        y[tr],
        epochs=15,
        batch_size=16,
        validation_data=(scaler.transform(X[te]), y[te]),
        verbose=0,
    )
    scores.append(history.history["val_accuracy"][-1])
    print(
        "fold %d loss %.4f val_loss %.4f acc %.4f"
        % (fold, history.history["loss"][-1], history.history["val_loss"][-1], scores[-1])
    )
print(f"RESULT cv_accuracy {np.mean(scores):.4f}")
