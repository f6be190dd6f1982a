package streamable_test

import (
	"fmt"
	"strings"

	"mcpd/transport/streamable"
)

// A Reader returns the priming event, which has an id and no data, as well as events with messages.
func ExampleReader() {
	stream := "id: a.p1.0\nretry: 1000\ndata:\n\n: keep-alive\n\nid: a.p1.1\ndata: " +
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"
	events := streamable.NewReader(strings.NewReader(stream), streamable.ReaderLimits{})
	for {
		event, err := events.Next()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s %v %q\n", event.ID, event.Retry, event.Data)
	}
	// Output:
	// a.p1.0 1s ""
	// a.p1.1 0s "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
	// EOF
}
