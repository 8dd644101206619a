"""Breast cancer table with class weights, SGD with momentum, L2 and early stopping; small data, small net."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight
from tensorflow import keras

keras.utils.set_random_seed(0)
X, y = load_breast_cancer(return_X_y=True)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.25, stratify=y, random_state=42)
sc = StandardScaler().fit(Xtr)
Xtr, Xte = sc.transform(Xtr), sc.transform(Xte)
cw = compute_class_weight("balanced", classes=np.array([0, 1]), y=ytr)
reg = keras.regularizers.l2(1e-3)
model = keras.Sequential(
    [
        keras.layers.Input((30,)),
        keras.layers.Dense(16, activation="tanh", kernel_regularizer=reg),
        keras.layers.Dense(8, activation="tanh", kernel_regularizer=reg),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer=keras.optimizers.SGD(0.02, momentum=0.9), loss="binary_crossentropy", metrics=["accuracy"])
model.fit(
    Xtr,
    ytr,
    epochs=80,
    batch_size=16,
    validation_split=0.2,
    class_weight={0: cw[0], 1: cw[1]},
    verbose=2,
    callbacks=[keras.callbacks.EarlyStopping(monitor="val_loss", patience=8, restore_best_weights=True)],
)
p = model.predict(Xte, verbose=0)[:, 0] > 0.5
print("RESULT balanced_accuracy %.4f" % balanced_accuracy_score(yte, p))
