package analysis

// Data returns the objects as Append has packed them, for SetData.
func (k *ObjectKind) Data() []byte { return k.rows }

// SetData takes what Data has returned. No object may be added then.
func (k *ObjectKind) SetData(count int, rows []byte) { k.Count, k.rows = count, rows }
