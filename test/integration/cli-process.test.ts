/** Tests commands as processes in a pipeline. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('a command whose reader ends first, such as head, ends without an error message', async () => {
  // More than a pipe holds, so the last write fails.
  const script = '"$0" src/main.ts manifests | head -n 1'
  const { stdout, stderr } = await promisify(execFile)('sh', ['-c', script, process.execPath])
  expect({ stdout, stderr }).toEqual({ stdout: 'apiVersion: apiextensions.k8s.io/v1\n', stderr: '' })
}, 30_000)
