/** Ends the process after its readers have read everything that it printed. */

/**
 * Ends the process with a status when standard output and standard error are written. `process.exit` alone drops what a pipe, which holds
 * 64 KiB, could not take yet. A broken stream counts as written.
 */
export async function endProcess(status?: number): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map(untilWritten))
  process.exit(status)
}

function untilWritten(stream: NodeJS.WriteStream): Promise<void> {
  // A write to a broken stream would be one more error, in an endless loop.
  if (stream.writableLength === 0) return Promise.resolve()
  return new Promise((resolve) => {
    stream.once('error', () => resolve())
    stream.write('', () => resolve())
  })
}
