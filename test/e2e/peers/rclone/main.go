// rclone with the one back end and the one command that the benchmark needs: it builds in a fraction of the time.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/copy"
)

func main() {
	cmd.Main()
}
