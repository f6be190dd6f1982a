package auth_test

import (
	"fmt"

	"mcpd/gateway/auth"
)

func Example() {
	// The key goes to the caller, the hash into the configuration.
	key, hash := auth.NewKey()
	directory := auth.NewDirectory(map[string][]auth.Key{"acme": {{Name: "ci", Hash: hash}}})

	fmt.Println(directory.Authenticate("acme", auth.Credentials{
		Authorization: []string{"Bearer " + key},
	}))
	fmt.Println(directory.Authenticate("acme", auth.Credentials{}))
	// Output:
	// acme/ci <nil>
	// / a valid key is required
}
