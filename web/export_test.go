package web

// SqueezeStyle is squeezeStyle for its test.
var SqueezeStyle = squeezeStyle
