import { describe, expect, test } from 'vitest'
import { resourceWord } from '../../../api/meta.ts'
import { kindsOfPlacement } from '../../explain/workload.ts'
import { checkRejection, historyRejection, serverRejection } from './permitted-reads.ts'
import { viewerWith } from './viewer.fake.ts'
import { OWNER } from './viewer.ts'

const REGISTRATION = 'get mutatingwebhookconfigurations.admissionregistration.k8s.io lodestone'
const all = kindsOfPlacement.map(({ type }) => `list ${resourceWord(type)}`)
const served = () => true

test('the owner of the command may see everything', async () => {
  const rejections = [await serverRejection(OWNER), await historyRejection(OWNER, undefined)]
  expect([...rejections, await checkRejection(OWNER, served)]).toEqual([undefined, undefined, undefined])
})

describe('a reader of a page in a cluster', () => {
  test('sees the installation with the right to read the registration', async () => {
    expect(await serverRejection(viewerWith([REGISTRATION]))).toBeUndefined()
    expect(await serverRejection(viewerWith([]))).toMatchObject({ status: 403 })
  })

  test('sees the history of a namespace with the right to list its Events', async () => {
    const viewer = viewerWith(['list events in demo'])
    expect(await historyRejection(viewer, 'demo')).toBeUndefined()
    expect(await historyRejection(viewer, 'other')).toMatchObject({ status: 403 })
    expect(await historyRejection(viewer, undefined)).toMatchObject({ status: 403 })
  })

  test('may check with the right to list everything that a check reads', async () => {
    expect(await checkRejection(viewerWith(all), served)).toBeUndefined()
    for (const right of all) {
      const others = all.filter((each) => each !== right)
      expect(await checkRejection(viewerWith(others), served)).toMatchObject({ status: 403 })
    }
  })

  test('needs no right on a kind that the API server does not have', async () => {
    expect(await checkRejection(viewerWith([]), () => false)).toBeUndefined()
  })
})
