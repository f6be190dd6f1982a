package stdio_test

import (
	"context"
	"fmt"

	"mcpd/protocol/jsonrpc"
	"mcpd/transport/stdio"
)

// The server is cat, which echoes every message.
func Example() {
	ctx := context.Background()
	spawner := stdio.NewSpawner(stdio.SpawnerOptions{})
	defer spawner.Close(ctx)
	child, err := spawner.Start(ctx, stdio.Spec{Command: "cat"})
	if err != nil {
		fmt.Println(err)
		return
	}
	conn := stdio.NewConn(child, stdio.Options{})
	defer conn.Close(ctx)
	if err := conn.Send(ctx, jsonrpc.Request(jsonrpc.IntID(1), "ping", nil)); err != nil {
		fmt.Println(err)
		return
	}
	in, err := conn.Recv(ctx)
	fmt.Println(in.Message.Method, in.Message.ID, err)
	// Output: ping 1 <nil>
}
