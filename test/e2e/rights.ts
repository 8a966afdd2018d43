// The last check of a file: the rights that are installed are enough for the requests of all its tests, in whatever order they ran.
import { expect } from 'vitest'
import type { ControlPlane } from './control-plane.ts'
import type { Lodestone } from './lodestone.ts'

interface Started {
  plane: ControlPlane | undefined
  lodestones: (Lodestone | undefined)[]
  // In the log lines of requests that have to be forbidden.
  expected?: string
}

// For `afterAll`. The plane stops in any case; parts that a failed `beforeAll` did not start are undefined.
export async function stopAndCheckRights({ plane, lodestones, expected }: Started): Promise<void> {
  const logs = await Promise.all(lodestones.map(async (lodestone) => (await lodestone?.readLog()) ?? ''))
  await plane?.stopAll()
  const lines = logs.flatMap((log) => log.split('\n')).filter((line) => line.includes('forbidden'))
  expect(lines.filter((line) => expected === undefined || !line.includes(expected))).toEqual([])
}
