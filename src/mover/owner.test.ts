import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type Owner, takeOver } from './owner.ts'

const FOREVER = new AbortController().signal

let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'lodestone-owner-'))
  onTestFinished(() => rmSync(state, { recursive: true, force: true }))
})

const whenAborted = (signal: AbortSignal) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))

describe('the owner of a dataset', () => {
  test.each([
    { name: 'has published', end: (owner: Owner) => owner.publish(async () => undefined) },
    { name: 'has failed', end: async () => undefined },
  ])('leaves no lock, but the file of the next one, when it $name', async ({ end }) => {
    const owner = await takeOver({ state }, FOREVER)
    await end(owner)
    await owner.release()

    expect(readdirSync(state)).toEqual(['released'])
  })

  test('stops when a later mover takes over, and publishes nothing', async () => {
    const first = await takeOver({ state }, FOREVER)
    const stopped = whenAborted(first.signal)
    const second = await takeOver({ state }, FOREVER)

    expect(await stopped).toMatchObject({ code: 'TakenOver' })
    await expect(first.publish(async () => 'published')).rejects.toMatchObject({ code: 'TakenOver' })
    expect(await second.publish(async () => 'published')).toBe('published')
    await Promise.all([first.release(), second.release()])
  })

  test('is not able to publish in the moment before it notices', async () => {
    const owner = await takeOver({ state }, FOREVER)
    await rm(join(state, readdirSync(state)[0] ?? ''))

    await expect(owner.publish(async () => 'published')).rejects.toMatchObject({ code: 'TakenOver' })
    await owner.release()
  })

  test('does not wait for a mover that was killed long ago', async () => {
    const left = ['owner-0123456789abcdef', 'publishing-0123456789abcdef'].map((name) => join(state, name))
    for (const path of left) {
      await writeFile(path, 'pod-1')
      await utimes(path, 1, 1)
    }
    const owner = await takeOver({ state }, AbortSignal.timeout(400))
    await owner.release()

    expect(readdirSync(state)).toEqual(['released'])
  })

  test('waits for a mover that publishes', async () => {
    const steps: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    const first = await takeOver({ state }, FOREVER)
    const published = first.publish(async () => {
      await promise
      steps.push('published')
    })
    await expect.poll(() => readdirSync(state).join()).toMatch(/^publishing-/)
    const second = takeOver({ state }, FOREVER).then((owner) => {
      steps.push('taken over')
      return owner.release()
    })
    resolve()
    await Promise.all([published, second])

    expect(steps).toEqual(['published', 'taken over'])
  })
})
