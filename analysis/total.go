package analysis

import (
	"crypto/sha256"
	"encoding/hex"
)

// totalAttribute marks the family of TotalOf.
const totalAttribute = "total"

// TotalOf is the family of all members of a kind of which captures have the number alone.
func TotalOf(kind Kind) *Family {
	sum := sha256.Sum256([]byte("all of " + kind))
	return &Family{
		Fingerprint: string(kind[:1]) + "1:" + hex.EncodeToString(sum[:16]), Kind: kind, Title: "all " + string(kind) + "s",
		Attributes: map[string]string{totalAttribute: string(kind)},
	}
}

// SocketsIn is the family of the TCP sockets in one state, of which captures have the number alone.
func SocketsIn(state string) *Family {
	sum := sha256.Sum256([]byte("sockets in " + state))
	title := "TCP, " + state
	return &Family{
		Fingerprint: "d1:" + hex.EncodeToString(sum[:16]), Kind: KindDescriptor, Title: title, Entry: title,
		Attributes: map[string]string{totalAttribute: "state", "protocol": "TCP", "state": state},
	}
}

// InFunction is the family of the goroutines in one function, of which captures have the number
// alone.
func InFunction(name string) *Family {
	sum := sha256.Sum256([]byte("goroutines in " + name))
	return &Family{
		Fingerprint: "g1:" + hex.EncodeToString(sum[:16]), Kind: KindGoroutine, Title: name,
		Attributes: map[string]string{totalAttribute: "function"},
	}
}

// IsWhole reports a family of TotalOf by its attributes: it has all members of its kind, and says
// no more than their number.
func IsWhole(attributes map[string]string) bool {
	total := attributes[totalAttribute]
	return total != "" && total != "state" && total != "function"
}

// IsInFunction reports a family of InFunction by its attributes.
func IsInFunction(attributes map[string]string) bool { return attributes[totalAttribute] == "function" }

// IsTotal reports a family of TotalOf, SocketsIn or InFunction by its attributes.
func IsTotal(attributes map[string]string) bool { return attributes[totalAttribute] != "" }
