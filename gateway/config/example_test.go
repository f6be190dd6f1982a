package config_test

import (
	"fmt"

	"mcpd/gateway/config"
)

func Example() {
	_, err := config.Load([]byte(`
listen: 0.0.0.0:7420
tenants:
  acme:
    servers:
      files: {comand: npx}
`), config.Options{File: "mcpd.yaml"})
	fmt.Println(err)
	// Output:
	// mcpd.yaml:4:3: tenant "acme" has no key, listen 0.0.0.0:7420 is reachable from other machines, add auth.keys (`mcpd key new` prints one), or listen on 127.0.0.1
	// mcpd.yaml:6:15: unknown key "comand", a server has no such key, did you mean "command"?
}
