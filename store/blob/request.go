package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// client sends requests to the server of a bucket, signed with Signature Version 4. It is
// safe for concurrent use.
type client struct {
	address     address
	http        *http.Client
	credentials *credentials.Credentials
	// region is that of the address, or the one that the server named.
	region string
}

// Settings of requests. A request is sent thrice within less than a second, and a connection
// on which nothing moves for a minute is given up.
const (
	mostTries  = 3
	firstPause = 50 * time.Millisecond
	mostIdle   = time.Minute
)

// defaultRegion is where servers expect requests that name no region.
const defaultRegion = "us-east-1"

func newClient(a address, creds *credentials.Credentials) *client {
	c := &client{address: a, credentials: creds, region: a.region}
	if c.region == "" {
		c.region = defaultRegion
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableCompression: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: mostIdle, MaxIdleConnsPerHost: 16,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return movingConn{conn}, nil
		},
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

// movingConn is a connection on which something must move within mostIdle.
type movingConn struct{ net.Conn }

func (c movingConn) Read(p []byte) (int, error) {
	c.SetReadDeadline(time.Now().Add(mostIdle))
	return c.Conn.Read(p)
}

func (c movingConn) Write(p []byte) (int, error) {
	c.SetWriteDeadline(time.Now().Add(mostIdle))
	return c.Conn.Write(p)
}

// request is one about an object, or about the bucket if the key is empty.
type request struct {
	method, key string
	query       url.Values
	header      map[string]string
	body        []byte
}

// refusal is the answer of a server that did not do what it was asked.
type refusal struct {
	status  int
	Code    string
	Message string
	// Region is where the bucket is, if the server says so.
	Region string
}

func (r *refusal) Error() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s (status %d)", r.Code, r.Message, r.status))
}

// again reports whether the same request may succeed in a moment.
func (r *refusal) again() bool {
	return r.status >= 500 || r.status == http.StatusTooManyRequests || slices.Contains([]string{"SlowDown", "RequestTimeout"}, r.Code)
}

// isMissing reports whether an error says that an object does not exist.
func isMissing(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Code == "NoSuchKey"
}

// do sends a request, again if that may help, and returns an answer of success, which the
// caller closes.
func (c *client) do(ctx context.Context, r request) (*http.Response, error) {
	for try := 1; ; try++ {
		answer, err := c.send(ctx, r)
		var refused *refusal
		if err == nil || try == mostTries || ctx.Err() != nil || errors.As(err, &refused) && !refused.again() {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(rand.N(firstPause << (try - 1))):
		}
	}
}

func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	keys, err := c.credentials.GetWithContext(&credentials.CredContext{Client: c.http})
	if err != nil {
		return nil, err
	}
	address := c.url(r)
	req, err := http.NewRequestWithContext(ctx, r.method, address.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	// The server compares the hash with what arrives.
	sum := sha256.Sum256(r.body)
	req.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	answer, err := c.http.Do(signer.SignV4(*req, keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken, c.region))
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, refusalOf(r, answer)
}

// url is the address of a request: with the bucket in the path, or in the name of the host.
func (c *client) url(r request) *url.URL {
	u := &url.URL{Scheme: "http", Host: c.address.endpoint, Path: "/" + r.key}
	if c.address.tls {
		u.Scheme = "https"
	}
	if c.address.inHost {
		u.Host = c.address.bucket + "." + u.Host
	} else {
		u.Path = "/" + c.address.bucket + u.Path
	}
	u.RawPath = s3utils.EncodePath(u.Path)
	u.RawQuery = strings.ReplaceAll(r.query.Encode(), "+", "%20")
	return u
}

// mostXML bounds an answer that is XML, in bytes: a list of 1,000 long names.
const mostXML = 4 << 20

func refusalOf(r request, answer *http.Response) error {
	refused := &refusal{status: answer.StatusCode}
	// The answer to HEAD has no body.
	_ = xml.NewDecoder(io.LimitReader(answer.Body, mostXML)).Decode(refused)
	if region := answer.Header.Get("X-Amz-Bucket-Region"); region != "" {
		refused.Region = region
	}
	if refused.Code == "" && r.method == http.MethodHead {
		refused.Code = map[int]string{http.StatusNotFound: "NoSuchKey", http.StatusForbidden: "AccessDenied"}[answer.StatusCode]
	}
	return refused
}

// ask sends a request whose answer is XML, or of no interest if into is nil.
func (c *client) ask(ctx context.Context, r request, into any) (etag string, err error) {
	answer, err := c.do(ctx, r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if into != nil {
		err = xml.NewDecoder(io.LimitReader(answer.Body, mostXML)).Decode(into)
	}
	return etagOf(answer), err
}

func etagOf(answer *http.Response) string { return strings.Trim(answer.Header.Get("ETag"), `"`) }

func (c *client) put(ctx context.Context, key string, content []byte) (etag string, err error) {
	return c.ask(ctx, request{method: http.MethodPut, key: key, body: content}, nil)
}

func (c *client) remove(ctx context.Context, key string) error {
	_, err := c.ask(ctx, request{method: http.MethodDelete, key: key}, nil)
	return err
}

// stat returns the state and the size of an object.
func (c *client) stat(ctx context.Context, key string) (etag string, size int64, err error) {
	answer, err := c.do(ctx, request{method: http.MethodHead, key: key})
	if err != nil {
		return "", 0, err
	}
	return etagOf(answer), answer.ContentLength, answer.Body.Close()
}

// get returns an object from an offset on, which must be in the state of etag if it is not 0.
func (c *client) get(ctx context.Context, key string, offset int64, etag string) (*http.Response, error) {
	r := request{method: http.MethodGet, key: key}
	if offset > 0 {
		r.header = map[string]string{"Range": fmt.Sprintf("bytes=%d-", offset), "If-Match": `"` + etag + `"`}
	}
	return c.do(ctx, r)
}

// part is a part of a multipart upload.
type part struct {
	PartNumber int
	ETag       string
}

// begin begins a multipart upload.
func (c *client) begin(ctx context.Context, key string) (upload string, err error) {
	var begun struct{ UploadId string }
	_, err = c.ask(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}}, &begun)
	return begun.UploadId, err
}

// putPart sends a part of a multipart upload.
func (c *client) putPart(ctx context.Context, key, upload string, number int, content []byte) (part, error) {
	query := url.Values{"partNumber": {fmt.Sprint(number)}, "uploadId": {upload}}
	etag, err := c.ask(ctx, request{method: http.MethodPut, key: key, query: query, body: content}, nil)
	return part{number, etag}, err
}

// complete makes an object of the parts of an upload.
func (c *client) complete(ctx context.Context, key, upload string, parts []part) (etag string, err error) {
	body, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{Part: parts})
	if err != nil {
		return "", err
	}
	var done struct {
		XMLName xml.Name
		ETag    string
		refusal
	}
	if _, err := c.ask(ctx, request{method: http.MethodPost, key: key, query: url.Values{"uploadId": {upload}}, body: body}, &done); err != nil {
		return "", err
	}
	// The status was sent before the server knew.
	if done.XMLName.Local == "Error" {
		return "", &done.refusal
	}
	return strings.Trim(done.ETag, `"`), nil
}

// abort ends a multipart upload.
func (c *client) abort(ctx context.Context, key, upload string) error {
	_, err := c.ask(ctx, request{method: http.MethodDelete, key: key, query: url.Values{"uploadId": {upload}}}, nil)
	return err
}

// listed is how many names one request lists.
const listed = "1000"

// object is one of a list.
type object struct {
	Key          string
	LastModified time.Time
}

// list returns objects below the prefix, and where the next ones begin, "" at the end.
func (c *client) list(ctx context.Context, token string) (objects []object, next string, err error) {
	query := url.Values{"list-type": {"2"}, "prefix": {c.address.prefix}, "max-keys": {listed}}
	if token != "" {
		query.Set("continuation-token", token)
	}
	var page struct {
		Contents              []object
		NextContinuationToken string
	}
	_, err = c.ask(ctx, request{method: http.MethodGet, query: query}, &page)
	return page.Contents, page.NextContinuationToken, err
}

// unfinished is a multipart upload of a list.
type unfinished struct {
	Key, UploadId string
	Initiated     time.Time
}

// uploads returns multipart uploads below the prefix, and where the next ones begin, nil at
// the end.
func (c *client) uploads(ctx context.Context, from url.Values) (uploads []unfinished, next url.Values, err error) {
	query := url.Values{"uploads": {""}, "prefix": {c.address.prefix}, "max-uploads": {listed}}
	for name, values := range from {
		query[name] = values
	}
	var page struct {
		Upload                            []unfinished
		IsTruncated                       bool
		NextKeyMarker, NextUploadIdMarker string
	}
	if _, err = c.ask(ctx, request{method: http.MethodGet, query: query}, &page); err == nil && page.IsTruncated {
		next = url.Values{"key-marker": {page.NextKeyMarker}, "upload-id-marker": {page.NextUploadIdMarker}}
	}
	return page.Upload, next, err
}
