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

// IsTotal reports a family of TotalOf or SocketsIn by its attributes.
func IsTotal(attributes map[string]string) bool { return attributes[totalAttribute] != "" }
