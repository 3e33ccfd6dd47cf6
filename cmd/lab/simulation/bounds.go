package simulation

var bounds = map[string]bound{}
