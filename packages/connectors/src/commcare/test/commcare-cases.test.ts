import { commcareCases } from './commcare.scene.ts'
import { conforms } from '../../../test/conformance.ts'

conforms(commcareCases)
