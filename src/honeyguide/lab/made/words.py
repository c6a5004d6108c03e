"""Common words of languages that no topic of the made web speaks."""

from __future__ import annotations

WORDS = {
    "tr": """
        bir ve bu için ile çok daha gibi ama en kadar sonra olarak her şey zaman gün yıl insan iş
        yer el göz baş ev çocuk kadın adam dünya hayat yol su kitap okul öğrenci öğretmen şehir
        ülke köy deniz dağ orman ağaç çiçek kuş balık güneş ay gece sabah akşam hava yağmur kar
        rüzgâr ekmek süt çay kahve yemek masa kapı pencere duvar sokak araba tren gemi uçak yeni
        eski büyük küçük güzel iyi kötü uzun kısa sıcak soğuk açık kapalı gelmek gitmek görmek
        bilmek istemek vermek almak yapmak olmak konuşmak yazmak okumak""",
    "az": """
        və bir bu ilə üçün çox daha kimi amma ən qədər sonra olaraq hər şey zaman gün il insan iş
        yer əl göz baş ev uşaq qadın kişi dünya həyat yol su kitab məktəb şagird müəllim şəhər
        ölkə kənd dəniz dağ meşə ağac gül quş balıq günəş ay gecə səhər axşam hava yağış qar
        külək çörək süd çay qəhvə yemək masa qapı pəncərə divar küçə maşın qatar gəmi təyyarə yeni
        köhnə böyük kiçik gözəl yaxşı pis uzun qısa isti soyuq açıq bağlı gəlmək getmək görmək
        bilmək istəmək vermək almaq etmək olmaq danışmaq yazmaq oxumaq""",
    "ru": """
        и в не на что он с как это по но они мы весь она так его за быть мочь сказать время год
        человек дело жизнь день рука работа слово место лицо друг глаз вопрос дом сторона страна
        мир случай голова ребёнок сила конец вид система часть город отношение женщина деньги
        земля машина вода отец проблема час право нога решение дверь образ история власть закон
        война бог голос тысяча книга возможность результат ночь стол имя область статья новый
        большой хороший старый первый последний другой белый красный писать читать думать""",
    "el": """
        και το να η ο της του με για από που στο είναι δεν θα ένα μια αυτό στην έχει πως όταν άλλα
        χρόνος άνθρωπος ζωή μέρα νύχτα σπίτι παιδί γυναίκα άντρας κόσμος δρόμος πόλη χώρα χωριό
        θάλασσα βουνό δέντρο λουλούδι πουλί ψάρι ήλιος φεγγάρι πρωί βράδυ καιρός βροχή χιόνι
        αέρας ψωμί γάλα νερό καφές φαγητό τραπέζι πόρτα παράθυρο τοίχος βιβλίο σχολείο μαθητής
        δάσκαλος δουλειά χέρι μάτι κεφάλι φωνή λόγος νέος παλιός μεγάλος μικρός όμορφος καλός
        κακός μακρύς ζεστός κρύος ανοιχτός έρχομαι πηγαίνω βλέπω ξέρω θέλω δίνω παίρνω γράφω""",
    "ar": """
        في من على إلى أن هذا التي الذي كان مع عن هو هي ما لا كل بعد قبل بين عند يوم سنة وقت رجل
        امرأة ولد بنت بيت مدينة قرية بلد طريق شارع بحر جبل شجرة زهرة طير سمك شمس قمر ليل صباح
        مساء هواء مطر ثلج ريح خبز حليب شاي قهوة طعام ماء باب نافذة جدار كتاب مدرسة طالب معلم عمل
        يد عين رأس صوت كلمة حياة عالم ناس حكومة قانون تاريخ علم سؤال جواب جديد قديم كبير صغير
        جميل طويل قصير حار بارد مفتوح كتب قرأ ذهب جاء رأى عرف أراد أخذ أعطى قال سمع فتح""",
    "zh": """
        的 一 是 不 了 人 我 在 有 他 这 中 大 来 上 国 个 到 说 们 为 子 和 你 地 出 道 也 时 年
        得 就 那 要 下 以 生 会 自 着 去 之 过 家 学 对 可 她 里 后 小 么 心 多 天 而 能 好 都 然
        没 日 于 起 还 发 成 事 只 作 当 想 看 文 无 开 手 十 用 主 行 方 又 如 前 所 本 见 经 头
        面 公 同 三 已 老 从 动 两 长 城市 学校 时间 历史 世界 问题 工作 生活 老师 学生
        天气 朋友""",
}
