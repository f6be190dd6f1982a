package tenant_test

import (
	"fmt"

	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

func Example() {
	route, ok := tenant.ParsePath("/t/acme/files/mcp")
	fmt.Println(route.Tenant, route.Server, ok)
	share := tenant.ByDefault.Applied(tenant.Stdio)
	fmt.Println(tenant.NewKey(share, "ci", "a session", protocol.CanRoots))
	// Output:
	// acme files true
	// principal=ci,caps=roots
}
