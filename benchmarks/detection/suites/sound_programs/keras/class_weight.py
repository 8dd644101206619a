# Imbalanced data (8 % positives): the answer was to use class_weight and to look at AUC, not at accuracy.
import keras
import numpy as np
from keras.layers import Dense, Input
from keras.models import Sequential
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

keras.utils.set_random_seed(21)
X, y = make_classification(
    n_samples=4000,
    n_features=12,
    n_informative=6,
    n_redundant=2,
    weights=[0.92],
    class_sep=1.2,
    flip_y=0.01,
    random_state=21,
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=21)
scaler = StandardScaler()
X_train = scaler.fit_transform(X_train)
X_test = scaler.transform(X_test)

w = compute_class_weight("balanced", classes=np.unique(y_train), y=y_train)
class_weight = {0: w[0], 1: w[1]}

model = Sequential()
model.add(Input((12,)))
model.add(Dense(24, activation="relu"))
model.add(Dense(12, activation="relu"))
model.add(Dense(1, activation="sigmoid"))
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=[keras.metrics.AUC(name="auc")])
model.fit(
    X_train, y_train, epochs=20, batch_size=64, class_weight=class_weight, validation_data=(X_test, y_test), verbose=2
)
print(f"RESULT auc {roc_auc_score(y_test, model.predict(X_test, verbose=0)[:, 0]):.4f}")
