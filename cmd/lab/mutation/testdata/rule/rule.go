// Package rule has two thresholds, one of which a test watches.
package rule

const most = 10

func high(n int) bool { return n > most && n%2 == 0 }

func low(n float64) bool { return n < 0.5 }
