# 8 % positives: class_weight so that the rare class counts as much as the common one
import keras
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight

keras.utils.set_random_seed(30)
X, y = make_classification(
    n_samples=6000,
    n_features=8,
    n_informative=5,
    n_redundant=1,
    n_clusters_per_class=1,
    weights=[0.92],
    class_sep=2.2,
    flip_y=0.0,
    random_state=30,
)
X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, stratify=y, random_state=30)
X_tr, X_va, y_tr, y_va = train_test_split(X_tr, y_tr, test_size=0.2, stratify=y_tr, random_state=30)
sc = StandardScaler().fit(X_tr)
X_tr, X_va, X_te = sc.transform(X_tr), sc.transform(X_va), sc.transform(X_te)

weights = compute_class_weight("balanced", classes=np.array([0, 1]), y=y_tr)
class_weight = {0: float(weights[0]), 1: float(weights[1])}
print("class weights:", class_weight)

model = keras.Sequential(
    [
        keras.layers.Input((8,)),
        keras.layers.Dense(12, activation="relu"),
        keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(
    optimizer=keras.optimizers.SGD(learning_rate=0.02, momentum=0.9),
    loss="binary_crossentropy",
    metrics=[keras.metrics.AUC(name="auc")],
)
h = model.fit(X_tr, y_tr, epochs=20, batch_size=64, class_weight=class_weight, validation_data=(X_va, y_va), verbose=0)
print("weighted loss {:.3f}   val_loss (unweighted) {:.3f}".format(h.history["loss"][-1], h.history["val_loss"][-1]))

prob = model.predict(X_te, verbose=0).ravel()
pred = (prob > 0.5).astype(int)
print(confusion_matrix(y_te, pred))
print(f"balanced accuracy {balanced_accuracy_score(y_te, pred):.3f}   AUC {roc_auc_score(y_te, prob):.3f}")
