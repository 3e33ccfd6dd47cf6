package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var port, n int

// setup makes the garbage collector rare, as it is where a heap is large: it closes sockets
// that nobody holds any more. It starts sentinels that answer at the same moment, and the
// master that they name.
func setup() {
	debug.SetGCPercent(-1)
	port = peer(func(l net.Listener) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	})
}

// serve answers each word of the protocol that a client may send; a command ends with its
// last word.
func serve(c net.Conn) {
	defer c.Close()
	_, own, _ := net.SplitHostPort(c.LocalAddr().String())
	for r := bufio.NewReader(c); ; {
		var n, size int
		if _, err := fmt.Fscanf(r, "*%d\r\n", &n); err != nil {
			return
		}
		words := make([]string, n)
		for i := range words {
			_, _ = fmt.Fscanf(r, "$%d\r\n", &size)
			word := make([]byte, size+2)
			_, _ = io.ReadFull(r, word)
			words[i] = strings.ToLower(string(word[:size]))
		}
		switch {
		case words[0] == "sentinel" && words[1] == "get-master-addr-by-name":
			time.Sleep(time.Until(time.Now().Truncate(20 * time.Millisecond).Add(20 * time.Millisecond)))
			fmt.Fprintf(c, "*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%s\r\n", len(own), own)
		case words[0] == "sentinel":
			fmt.Fprint(c, "*0\r\n")
		case words[0] == "ping":
			fmt.Fprint(c, "+PONG\r\n")
		default:
			fmt.Fprint(c, "-ERR unknown command\r\n")
		}
	}
}

// trigger is a client of one command, at every fourth call.
func trigger() {
	if n++; n%4 != 0 {
		return
	}
	sentinels := []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.2:%d", port), fmt.Sprintf("127.0.0.3:%d", port)}
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: sentinels})
	_ = c.Ping(context.Background()).Err()
	_ = c.Close()
}
