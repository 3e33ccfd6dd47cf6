package main

import (
	"context"
	"reflect"
	"time"

	"sigs.k8s.io/cluster-api/util/cache"
)

type entry struct{}

func (entry) Key() string { return "a" }

func setup() {}

// trigger makes the cache of a controller that ends at once. The good version takes the
// controller's context.
func trigger() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	make := reflect.ValueOf(cache.New[entry])
	args := []reflect.Value{reflect.ValueOf(time.Minute)}
	if make.Type().NumIn() == 2 {
		args = append([]reflect.Value{reflect.ValueOf(ctx)}, args...)
	}
	make.Call(args)
}
