package main

import (
	"fmt"
	"log"
	"net"

	"github.com/Shopify/sarama"
)

type reporter struct{}

func (reporter) Error(args ...any)                 { log.Println(args...) }
func (reporter) Errorf(format string, args ...any) { log.Printf(format, args...) }
func (reporter) Fatal(args ...any)                 { log.Fatal(args...) }
func (reporter) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

var address string
var n int

// setup starts a broker of a cluster that has no controller.
func setup() {
	address = fmt.Sprintf("127.0.0.1:%d", peer(func(l net.Listener) {
		b := sarama.NewMockBrokerListener(reporter{}, 1, l)
		b.SetHandlerByMap(map[string]sarama.MockResponse{
			"MetadataRequest": sarama.NewMockMetadataResponse(reporter{}).SetBroker(l.Addr().String(), b.BrokerID()),
		})
	}))
}

// trigger makes an administrator's client, which fails, at every second call.
func trigger() {
	if n++; n%2 != 0 {
		return
	}
	config := sarama.NewConfig()
	config.Version = sarama.V1_0_0_0
	config.Metadata.Retry.Max = 0
	if _, err := sarama.NewClusterAdmin([]string{address}, config); err == nil {
		panic("there is a controller")
	}
}
