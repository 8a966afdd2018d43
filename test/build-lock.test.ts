// The lock around the builds of the end-to-end tests.
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { withBuildLock } from './e2e/build-lock.ts'
import { runCommand } from './e2e/processes.ts'

// Other systems have no lock.
const onLinux = test.runIf(process.platform === 'linux')
const lock = new URL('./e2e/build-lock.ts', import.meta.url)
const folderOf = (name: string) => `/cache/${process.pid}/${name}`

onLinux('builds that begin at once run one after the other, also after one that failed', async () => {
  let running = 0
  let most = 0
  const build = (fails: boolean) =>
    withBuildLock(folderOf('at-once'), 30_000, async () => {
      most = Math.max(most, ++running)
      await turn()
      running--
      if (fails) throw new Error('no compiler')
    })

  const results = await Promise.allSettled([build(true), build(false), build(false)])

  expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled'])
  expect(most).toBe(1)
})

onLinux(
  'a build that does not end is reported by the process that waits, and its lock ends with its process',
  async () => {
    const folder = folderOf('endless')
    const second = `import { withBuildLock } from '${lock}'; await withBuildLock('${folder}', 300, async () => console.log('built'))`
    const other = () => runCommand(process.execPath, ['--input-type=module', '-e', second], { cwd: '/', env: {} })

    const waited = await withBuildLock(folder, 30_000, other)
    expect(waited).toMatchObject({ code: 1, stdout: '' })
    expect(waited.stderr).toContain(`no other build into ${folder}: not reached`)

    const killed = `import { withBuildLock } from '${lock}'; await withBuildLock('${folder}', 300, () => process.kill(process.pid, 'SIGKILL'))`
    await runCommand(process.execPath, ['--input-type=module', '-e', killed], { cwd: '/', env: {} })
    expect(await other()).toMatchObject({ code: 0, stdout: 'built\n' })
  },
)
