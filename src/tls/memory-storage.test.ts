import { openMemoryStorage } from './memory-storage.ts'
import { describeStorage } from './storage.suite.ts'

describeStorage(async () => {
  const storage = openMemoryStorage()
  return [storage, storage]
})
