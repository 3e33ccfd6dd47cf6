package blob

import (
	"net/url"
	"slices"
	"strings"

	"leakdiff/analysis"
)

// address is where a bucket is.
type address struct {
	bucket string
	// prefix begins the names of all objects. It is empty or ends with a slash.
	prefix string
	// endpoint is a host, with a port where it has one.
	endpoint string
	tls      bool
	// region is "" to take that of the server.
	region string
	// inHost says that the bucket is a part of the name of the host.
	inHost bool
}

// defaultEndpoint is that of an address without one.
const defaultEndpoint = "s3.amazonaws.com"

// parseAddress parses the address of a bucket.
//
//	"s3://b/p?endpoint=http://127.0.0.1:9000&style=path"  ->  bucket b, prefix p/, without TLS
func parseAddress(text string) (address, error) {
	refuse := func(why string) (address, error) {
		// The text itself may have a password in it, and is not repeated.
		return address{}, &analysis.Fault{
			Code: "bad_request", What: "the address of the bucket was not understood", Where: "--blobs", Why: why,
			Hint: "Write s3://bucket/prefix?endpoint=https://host:port&region=…&style=path. Endpoint (Amazon S3 without one), region and style (path, or host as Amazon has it) may be left out.",
		}
	}
	u, err := url.Parse(text)
	if err != nil {
		return refuse("it is no URL")
	}
	switch {
	case u.Scheme != "s3":
		return refuse("it does not begin with s3://")
	case u.User != nil:
		return refuse("it has a user or a password in it. Credentials come from the environment, from files of the AWS tools or from the machine, since other users can read command lines")
	case u.Host == "" || u.Fragment != "":
		return refuse("it names no bucket, or has a # in it")
	}
	a := address{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), endpoint: defaultEndpoint, tls: true}
	if a.prefix != "" {
		a.prefix += "/"
	}
	for name, values := range u.Query() {
		value := values[len(values)-1]
		switch name {
		case "endpoint":
			scheme, host, found := strings.Cut(value, "://")
			if !found {
				scheme, host = "https", value
			}
			if !slices.Contains([]string{"http", "https"}, scheme) || host == "" || strings.ContainsAny(host, "/@?#") {
				return refuse("its endpoint is neither a host nor http:// or https:// and a host")
			}
			a.endpoint, a.tls = host, scheme == "https"
		case "region":
			a.region = value
		case "style":
			if value != "path" && value != "host" {
				return refuse("its style is neither path nor host")
			}
			a.inHost = value == "host"
		default:
			return refuse("it has a parameter other than endpoint, region and style")
		}
	}
	// A certificate is for one level of names below the host.
	if !u.Query().Has("style") {
		a.inHost = strings.HasSuffix(a.endpoint, ".amazonaws.com") && !strings.Contains(a.bucket, ".")
	}
	return a, nil
}

// String is the address for logs and refusals.
func (a address) String() string {
	scheme := "http://"
	if a.tls {
		scheme = "https://"
	}
	return "s3://" + a.bucket + "/" + a.prefix + " at " + scheme + a.endpoint
}
