package chaos

import (
	"testing"

	"mcpd/internal/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }
