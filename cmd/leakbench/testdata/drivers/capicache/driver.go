package main

import (
	"context"
	"reflect"
	"time"

	"sigs.k8s.io/cluster-api/util/cache"
)

type entry struct{}

func (entry) Key() string { return "key" }

func setup() {}

// trigger is a controller that makes its cache and ends. From v1.14.0 on New takes a context.
func trigger() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	args := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(time.Minute)}
	f := reflect.ValueOf(cache.New[entry])
	f.Call(args[2-f.Type().NumIn():])[0].Interface().(cache.Cache[entry]).Add(entry{})
}
