/** A reader of the page, as a process: follows the events, and filters five times a second until it is ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'

/** Starts a reader. It is a process of its own, so that its work delays no other client. */
export function startReader(link: string, cookie: string, searches: readonly string[]): ChildProcess {
  return spawn(process.execPath, [import.meta.filename, link, cookie, ...searches], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

async function readOn(link: string, cookie: string, searches: readonly string[]): Promise<void> {
  const read = async (path: string) => {
    const answer = await fetch(new URL(path, link), { headers: { cookie } })
    if (!answer.ok) throw new Error(`${path}: HTTP ${answer.status}`)
    return answer
  }
  const events = await read('/v1/events')
  void events.body?.pipeTo(new WritableStream())
  for (let i = 0; ; i++) {
    await (await read(`/v1/claims?search=${searches[i % searches.length]}`)).text()
    await sleep(200)
  }
}

if (import.meta.main) {
  const [, , link = '', cookie = '', ...searches] = process.argv
  await readOn(link, cookie, searches)
}
