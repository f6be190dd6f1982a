package quota_test

import (
	"fmt"

	"mcpd/gateway/quota"
)

func Example() {
	q := quota.NewInFlight(100, 1)
	fmt.Println(q.Admit("session"))
	fmt.Println(q.Admit("session"))
	q.Release("session")
	fmt.Println(q.Admit("session"))
	// Output:
	// <nil>
	// this session has as many requests in flight as it may, 1
	// <nil>
}
