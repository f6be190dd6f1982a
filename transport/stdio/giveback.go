//go:build !broken_leak

package stdio

import "os"

// closeFile closes a file that is not needed any more. With the build tag broken_leak it does not:
// experiments must detect that.
func closeFile(f *os.File) { f.Close() }
