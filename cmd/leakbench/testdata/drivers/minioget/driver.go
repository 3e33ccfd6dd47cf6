package main

import (
	"context"
	"fmt"
	"net"
	"net/http"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

var client *minio.Client

func setup() {
	port := peer(func(l net.Listener) {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2023 15:04:05 GMT")
			w.Header().Set("ETag", `"a"`)
			_, _ = w.Write([]byte("object"))
		}))
	})
	var err error
	client, err = minio.New(fmt.Sprintf("127.0.0.1:%d", port), &minio.Options{Creds: credentials.NewStaticV4("a", "b", ""), Region: "us-east-1"})
	if err != nil {
		panic(err)
	}
}

// trigger opens an object and closes it.
func trigger() {
	o, err := client.GetObject(context.Background(), "bucket", "key", minio.GetObjectOptions{})
	if err != nil {
		panic(err)
	}
	_, _ = o.Stat()
	_ = o.Close()
}
