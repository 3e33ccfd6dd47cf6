package wording

// Outgoing says to whom a server makes requests of its own: "its database", "a webhook for
// alerts".
func Outgoing(to []string) string {
	if len(to) == 0 {
		return "This server makes no outgoing requests."
	}
	return "This server makes outgoing requests only to " + List(to, len(to)) + "."
}

// DataGoes says where uploads go.
func DataGoes(to []string) string {
	if len(to) == 0 {
		return "Onto the disk of this server and nowhere else. It makes no outgoing requests."
	}
	return "Onto the disk of this server. It makes outgoing requests only to " + List(to, len(to)) + "."
}
