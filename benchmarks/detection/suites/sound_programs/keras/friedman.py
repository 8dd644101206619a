# Regression on a table: inputs and target both scaled, R2 reported in original units
import keras
from keras import layers
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

keras.utils.set_random_seed(11)
X, y = make_friedman1(n_samples=5000, n_features=6, noise=0.6, random_state=11)
y = 1000.0 * y + 50000.0  # looks like prices

X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.2, random_state=11)
sx = StandardScaler().fit(X_tr)
sy = StandardScaler().fit(y_tr.reshape(-1, 1))

model = keras.Sequential(
    [
        layers.Input((6,)),
        layers.Dense(24, activation="relu"),
        layers.Dense(16, activation="relu"),
        layers.Dense(1),
    ]
)
model.compile(optimizer=keras.optimizers.RMSprop(learning_rate=0.001), loss="mse", metrics=["mae"])
reduce = keras.callbacks.ReduceLROnPlateau(monitor="val_loss", factor=0.5, patience=4, min_lr=1e-4)
hist = model.fit(
    sx.transform(X_tr),
    sy.transform(y_tr.reshape(-1, 1)),
    validation_split=0.15,
    epochs=30,
    batch_size=32,
    callbacks=[reduce],
    verbose=0,
)

pred = sy.inverse_transform(model.predict(sx.transform(X_te), verbose=0))
print("train mse {:.4f}  val mse {:.4f}".format(hist.history["loss"][-1], hist.history["val_loss"][-1]))
print(f"R2 on the test set: {r2_score(y_te, pred[:, 0]):.3f}")
