package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"
)

// healthy starts what every case has and what does not leak: four workers on a queue and
// a ticker.
func healthy() {
	q := make(chan int)
	for range 4 {
		go func() {
			for range q {
				time.Sleep(time.Millisecond)
			}
		}()
	}
	go func() {
		for range time.Tick(100 * time.Millisecond) {
			q <- 1
		}
	}()
}

// peer runs serve in a second process of this program and returns its port: what a server
// holds is not the client's. The second process enters setup, too, and stays in here.
func peer(serve func(net.Listener)) int {
	if os.Getenv("LEAKBENCH_PEER") != "" {
		l, err := net.FileListener(os.NewFile(3, "listener"))
		if err != nil {
			panic(err)
		}
		serve(l)
		select {}
	}
	l, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		panic(err)
	}
	defer file.Close()
	cmd := exec.Command(os.Args[0], os.Args[1])
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), "LEAKBENCH_PEER=1"), []*os.File{file}, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return l.Addr().(*net.TCPAddr).Port
}

func main() {
	var triggers atomic.Int64
	http.HandleFunc("/triggers", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, triggers.Load()) })
	healthy()
	setup()
	go func() { panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)) }()
	time.Sleep(time.Second)
	for {
		for range 2 {
			trigger()
			triggers.Add(1)
		}
		time.Sleep(200 * time.Millisecond)
	}
}
