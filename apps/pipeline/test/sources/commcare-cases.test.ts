import { commcareCases } from './commcare.scene.ts'
import { conforms } from './conformance.ts'

conforms(commcareCases)
